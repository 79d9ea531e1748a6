select distinct status from {{ ref('stg_orders') }}
