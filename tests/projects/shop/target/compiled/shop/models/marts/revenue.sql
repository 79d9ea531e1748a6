select region, count(*) as orders
from "shop"."main"."stg_orders"
group by region