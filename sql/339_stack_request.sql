-- A request that a stack shows in flight: an address, object or request id among the variables of a
-- process that reads data.
-- grain: one row a variable that names one
-- reads: stack_frame, stack_process
-- case: yes
-- note: Needs py-spy --locals. Only the last stack of a rank or of its DataLoader workers counts,
-- note: and only where it stands in reading or preparing data; variables of the program's outermost
-- note: functions are settings, not requests. py-spy cuts texts at 128 characters (is_cut): an
-- note: object is then known by its beginning.
create or replace view stack_request as
with variable as (
    select p.job_id, p.rank, s.file_id, s.line_no, s.text, s.frame_no,
        unnest(json_keys(s.locals)) as variable, s.locals
    from stack_process as p
    join stack_frame as s on s.file_id = p.file_id and s.dump_no = p.dump_no and s.is_main
        and s.locals is not null
    where p.kind in ('trainer', 'worker') and p.moment_no = 1 and p.rank is not null
        and p.activity in ('storage_wait', 'data_loading', 'decoding', 'batch_preparation')
            and s.function not in ('main', '<module>')
),
valued as (
    select *, json_extract_string(locals, '$."' || variable || '"') as shown,
        regexp_replace(regexp_replace(shown, '^[bru]?["'']|["'']$', '', 'g'), '\.\.\.$', '')
            as value,
        contains(shown, '...') as is_cut
    from variable
),
parted as (
    select
        *,
        regexp_extract(value, '^https?://([^/?]+)', 1) as endpoint,
        regexp_extract(value, '^(?:https?://[^/]+)?(?:/[\w.-]+)*?/v1/objects/([^/?]+)(?:/([^?]*))?',
            ['bucket', 'object'])
            as place,
        regexp_extract(value, '^(ais|s3|gs|gcp|aws|az)://([^/?]+)(?:/([^?]*))?',
            ['scheme', 'bucket', 'object'])
            as uri,
        regexp_extract(value, '[?&]provider=(\w+)', 1) as provider
    from valued
),
keyed as (
    select
        *,
        coalesce(nullif(place.object, ''), nullif(uri.object, ''),
            case
                when regexp_matches(variable,
                    '(?i)(^|_)(obj|object|name|key|shard|file|filename|path|sample)s?$')
                and regexp_matches(value, '^[^\s/:<][^\s:<]*[./][^\s:<]+$') then value end)
            as object,
        case when uri.bucket <> '' then uri.scheme || '://' || uri.bucket
            when place.bucket <> '' then coalesce(nullif(provider, ''), 'ais') || '://'
                || place.bucket end
            as bucket,
        case when lower(variable) in ('wid', 'work_id')
            and regexp_matches(value, '^[\w-]{5,40}$') then value end
            as wid
    from parted
)
select
    job_id,
    rank,
    variable,
    case when contains(value, '://') or contains(value, '/v1/') then value end as url,
    nullif(endpoint, '') as endpoint,
    bucket,
    object,
    wid,
    is_cut,
    file_id,
    line_no,
    text || ' with ' || variable || '=' || shown as text
from keyed
where object is not null or wid is not null or endpoint <> ''
qualify row_number()
    over (partition by job_id, rank, url, object, wid order by is_cut, frame_no, file_id, line_no)
        = 1
