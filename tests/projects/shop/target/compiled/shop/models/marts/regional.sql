select o.id, r.name
from "shop"."main"."stg_orders" as o
join "shop"."main"."regions" as r on o.region = r.region