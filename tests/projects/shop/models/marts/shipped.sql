{{ config(materialized='table') }}

{% set columns = ['id', 'customer_id'] %}
select
{% for column in columns %}
    o.{{ column }},
{% endfor %}
    s.shipped_at
from {{ ref('stg_orders') }} as o
join {{ ref('stg_shipments') }} as s
    on o.id = s.order_id
