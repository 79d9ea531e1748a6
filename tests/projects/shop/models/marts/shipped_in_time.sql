{{ config(materialized='table') }}

{# An order and its shipment within two days. #}
select
    o.id,
    s.shipped_at
from {{ ref('stg_orders') }} as o
join {{ ref('stg_shipments') }} as s
    on o.id = s.order_id
    and s.shipped_at between o.ordered_at and o.ordered_at + interval '2 days'
