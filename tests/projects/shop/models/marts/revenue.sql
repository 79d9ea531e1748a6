select region, count(*) as orders
from {{ ref('stg_orders') }}
group by region
