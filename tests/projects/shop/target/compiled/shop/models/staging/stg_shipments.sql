
select order_id, shipped_at
from "shop"."raw"."shipments"