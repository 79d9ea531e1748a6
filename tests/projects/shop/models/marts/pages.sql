select distinct page from {{ source('shop', 'clicks') }}
