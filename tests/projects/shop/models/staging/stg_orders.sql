select id, customer_id, region, status, ordered_at
from {{ source('shop', 'orders') }}
where status <> 'test'
