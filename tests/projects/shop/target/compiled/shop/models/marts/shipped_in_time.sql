


with __dbt__cte__stg_shipments as (

select order_id, shipped_at
from "shop"."raw"."shipments"
) select
    o.id,
    s.shipped_at
from "shop"."main"."stg_orders" as o
join __dbt__cte__stg_shipments as s
    on o.id = s.order_id
    and s.shipped_at between o.ordered_at and o.ordered_at + interval '2 days'