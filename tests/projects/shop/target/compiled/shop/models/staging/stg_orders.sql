select id, customer_id, region, status, ordered_at
from "shop"."raw"."orders"
where status <> 'test'