select o.id, r.name
from {{ ref('stg_orders') }} as o
join {{ ref('regions') }} as r on o.region = r.region
