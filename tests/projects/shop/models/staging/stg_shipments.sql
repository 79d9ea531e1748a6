{{ config(materialized='ephemeral') }}
select order_id, shipped_at
from {{ source('shop', 'shipments') }}
