//! The plans of all lists over many rows, in both modes of PostgreSQL's plan cache.

use chrono::Utc;
use crtx_store::{
    PgPool,
    reads::{self, DisputeFilter, DisputeScope, ExecutionFilter, ExecutionRole, ShownStatus, Start},
    testing::{TestDatabase, fixtures::wallet, roll_up_all, single, volume},
};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

const EXECUTIONS: u32 = 200_000;
const LIMIT: i64 = 21;
/// Rows that a sort may have: a page of each status.
const MOST_SORTED: f64 = 5.0 * LIMIT as f64;
/// Blocks of tables and indexes, without those of a count: an index that is read as a whole for one owner has far more.
const MOST_BLOCKS: i64 = 1_000;
/// The tables that a list must not read as a whole.
const LARGE: [&str; 4] = ["execution_list", "mirror_executions", "mirror_disputes", "mirror_agents"];

/// Half of the executions belong to one caller, the rest to a thousand; some are disputed.
async fn seed(pool: &PgPool) -> (String, String, String) {
    let creator = wallet(30);
    volume::agents(pool, &creator, 1_000).await;
    let agents: Vec<String> =
        sqlx::query_scalar("SELECT address FROM mirror_agents ORDER BY address").fetch_all(pool).await.unwrap();
    let callers: Vec<_> = (0..1_000).flat_map(|n| [wallet(1).to_string(), format!("caller {n}")]).collect();
    volume::executions(pool, &callers, &agents, EXECUTIONS).await;
    let unfinished = "UPDATE mirror_executions m SET status = 3
                      FROM (SELECT address, row_number() OVER ()::integer AS n FROM mirror_executions) AS numbered
                      WHERE numbered.address = m.address AND n % 7 = 0";
    sqlx::query(unfinished).execute(pool).await.unwrap();
    let disputes = "INSERT INTO mirror_disputes (address, slot, revision, execution, agent, raised_by, rent_payer,
                        evidence_hash, evidence_uri, raised_at, resolved_at, slash_amount, compensation, outcome)
                    SELECT address, 1, 1, address, agent, caller, 'r', sha256('u'), 'u', initiated_at,
                           CASE WHEN n % 4 > 0 THEN now() END, 0, 0, 1 + n % 4
                    FROM (SELECT *, row_number() OVER ()::integer AS n FROM mirror_executions LIMIT 40000) AS chosen";
    sqlx::query(disputes).execute(pool).await.unwrap();
    roll_up_all(pool).await.unwrap();
    sqlx::raw_sql("VACUUM ANALYZE").execute(pool).await.unwrap();
    (wallet(1).to_string(), creator.to_string(), agents[0].clone())
}

/// The statements that read the lists of executions and of disputes, as the server has them.
async fn list_statements(url: &str) -> [String; 2] {
    let mut connection = PgConnection::connect(url).await.unwrap();
    single::list_executions(&mut connection, &wallet(1), &ExecutionFilter::default(), 1, &Start::FIRST).await.unwrap();
    let all = DisputeFilter { scope: DisputeScope::All, outcome: None };
    reads::list_disputes(&mut connection, &wallet(1), all, 1, &Start::FIRST).await.unwrap();
    let prepared =
        "SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%LATERAL%' ORDER BY prepare_time";
    let statements: Vec<String> =
        sqlx::query_scalar(prepared).persistent(false).fetch_all(&mut connection).await.unwrap();
    statements.try_into().unwrap()
}

/// All nodes of a plan.
fn nodes(plan: &Value) -> Vec<Value> {
    let mut found = vec![plan.clone()];
    for child in plan["Plans"].as_array().into_iter().flatten() {
        found.extend(nodes(child));
    }
    found
}

/// Whether a node counts entries of indexes, reads no row of the table for it, and throws no entry away.
fn is_count(node: &Value) -> bool {
    let is_of_index = |node: &Value| match node["Node Type"].as_str().unwrap() {
        "Append" | "Result" => true,
        "Index Only Scan" => {
            node["Relation Name"] == "execution_list"
                && node["Heap Fetches"] == 0
                && node.get("Rows Removed by Filter").is_none_or(|removed| *removed == 0)
        }
        _ => false,
    };
    node["Node Type"] == "Aggregate" && nodes(node)[1..].iter().all(is_of_index)
}

/// Runs a statement and looks at what it did.
async fn check(connection: &mut PgConnection, types: &str, statement: &str, values: &str, what: &str) {
    sqlx::raw_sql(AssertSqlSafe(format!("PREPARE list ({types}) AS {statement}")))
        .execute(&mut *connection)
        .await
        .unwrap();
    let explain = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE list ({values})");
    let plan: Value =
        sqlx::query_scalar(AssertSqlSafe(explain)).persistent(false).fetch_one(&mut *connection).await.unwrap();
    sqlx::raw_sql("DEALLOCATE list").execute(&mut *connection).await.unwrap();
    let plan_of_all = &plan[0]["Plan"];
    // The rows of a time range are counted, from the index alone and no others.
    let counts: Vec<Value> = nodes(plan_of_all).into_iter().filter(is_count).collect();
    let counted: Vec<Value> = counts.iter().flat_map(nodes).collect();
    let blocks = |node: &Value| ["Shared Hit Blocks", "Shared Read Blocks"].map(|name| node[name].as_i64().unwrap());
    let of_counts: i64 = counts.iter().flat_map(blocks).sum();
    let others = blocks(plan_of_all).iter().sum::<i64>() - of_counts;
    assert!(others <= MOST_BLOCKS, "{what}: {others} blocks\n{plan:#}");
    for node in nodes(plan_of_all) {
        if counted.contains(&node) {
            continue;
        }
        let kind = node["Node Type"].as_str().unwrap();
        let table = node["Relation Name"].as_str().unwrap_or_default();
        let rows = node["Actual Rows"].as_f64().unwrap() * node["Actual Loops"].as_f64().unwrap();
        assert!(!(kind == "Seq Scan" && LARGE.contains(&table)), "{what}: {kind} on {table}\n{plan:#}");
        if kind.contains("Sort") {
            let input = node["Plans"][0]["Actual Rows"].as_f64().unwrap();
            assert!(input <= MOST_SORTED, "{what}: {kind} of {input} rows\n{plan:#}");
        }
        assert!(rows <= 3_000.0, "{what}: {kind} on {table} has {rows} rows\n{plan:#}");
        let removed = node["Rows Removed by Filter"].as_f64().unwrap_or_default();
        assert!(removed <= 100.0, "{what}: {kind} on {table} throws {removed} rows away\n{plan:#}");
    }
}

#[tokio::test]
async fn no_list_scans_a_table_or_sorts_more_than_a_page_in_either_mode() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let (caller, creator, agent) = seed(pool).await;
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    let nil = "00000000-0000-0000-0000-000000000000";
    let [statement, of_disputes] = list_statements(&database.url()).await;
    for mode in ["force_custom_plan", "force_generic_plan"] {
        sqlx::raw_sql(AssertSqlSafe(format!("SET plan_cache_mode = {mode}"))).execute(&mut connection).await.unwrap();
        for index in 0..16 {
            let owner = if index & 8 == 0 { &caller } else { &creator };
            let agent = if index & 4 == 0 { "" } else { &agent };
            let status = if index & 2 == 0 { "NULL" } else { "2" };
            let (from, to) = if index & 1 == 0 {
                ("NULL", "NULL")
            } else {
                ("now() - interval '2 days'", "now() - interval '1 hour'")
            };
            // One question alone and two in one statement.
            for (place, id, questions) in
                [(to, nil, 1), ("now() - interval '1 day'", "ffffffff-0000-0000-0000-000000000000", 2)]
            {
                let each = |value: &str| format!("ARRAY[{}]", vec![value; questions].join(", "));
                let owner = each(&format!("'{owner}'"));
                let (agent, id) = (each(&format!("'{agent}'")), each(&format!("'{id}'")));
                let (status, from, to, place) = (each(status), each(from), each(to), each(place));
                let (none, limit, skipped) = (each("NULL"), each(&LIMIT.to_string()), each("0"));
                let role = each(if index & 8 == 0 { "0" } else { "1" });
                let values = format!(
                    "{owner}, {role}::int2[], {agent}, {status}::int2[], {from}::timestamptz[], {to}::timestamptz[],
                     {place}::timestamptz[], {id}::uuid[], {none}::text[], {limit}::int8[], {skipped}::int8[]"
                );
                let types = "text[], int2[], text[], int2[], timestamptz[], timestamptz[], timestamptz[], uuid[],
                             text[], int8[], int8[]";
                let what = format!("executions {index} {mode} {questions}");
                check(&mut connection, types, &statement, &values, &what).await;
            }
        }
        for (owner, roles) in
            [(&*caller, "{0}"), (&*creator, "{1}"), (&*caller, "{0, 2}"), (&*creator, "{0, 2}"), ("", "{3}")]
        {
            for outcomes in ["{1, 2, 3, 4}", "{1}", "{2}"] {
                for (open, decided) in [("NULL", "NULL"), ("NULL", "now() - interval '1 hour'")] {
                    let values = format!("'{owner}', '{roles}', '{outcomes}', {open}, {decided}, '', {LIMIT}, 0");
                    let types = "text, int2[], int2[], timestamptz, timestamptz, text, int8, int8";
                    let what = format!("disputes {roles} {outcomes} {mode} {decided}");
                    check(&mut connection, types, &of_disputes, &values, &what).await;
                }
            }
        }
    }
    every_total_is_exact(pool, &caller, &creator, &agent).await;
    database_is_seeded_as_expected(pool).await;
}

/// The totals of large lists against counting them.
async fn every_total_is_exact(pool: &PgPool, caller: &str, creator: &str, agent: &str) {
    let now = Utc::now();
    for bits in 0..16 {
        let role = if bits & 8 == 0 { ExecutionRole::Caller } else { ExecutionRole::Creator };
        let owner = if bits & 8 == 0 { caller } else { creator };
        let filter = ExecutionFilter {
            role,
            agent: (bits & 4 != 0).then(|| agent.parse().unwrap()),
            status: (bits & 2 != 0).then_some(ShownStatus::Completed),
            from: (bits & 1 != 0).then(|| now - chrono::TimeDelta::days(2)),
            to: (bits & 1 != 0).then(|| now - chrono::TimeDelta::hours(1)),
        };
        let listed = single::list_executions(pool, &owner.parse().unwrap(), &filter, 1, &Start::FIRST).await.unwrap();
        let counted: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM mirror_executions m JOIN mirror_agents a ON a.address = m.agent
             WHERE CASE WHEN $1 THEN m.caller ELSE a.creator END = $2 AND ($3::text IS NULL OR m.agent = $3)
               AND ($4::int2 IS NULL OR m.status = $4) AND ($5::timestamptz IS NULL OR initiated_at > $5)
               AND ($6::timestamptz IS NULL OR initiated_at < $6)",
        )
        .bind(role == ExecutionRole::Caller)
        .bind(owner)
        .bind(filter.agent.map(|agent| agent.to_string()))
        .bind(filter.status.map(|_| 2_i16))
        .bind(filter.from)
        .bind(filter.to)
        .fetch_one(pool)
        .await
        .unwrap();
        assert_eq!(listed.total, counted.unsigned_abs(), "{filter:?}");
    }
}

async fn database_is_seeded_as_expected(pool: &PgPool) {
    let of_one: i64 = sqlx::query_scalar(
        "SELECT sum(n)::bigint FROM execution_totals WHERE role = 0 AND owner = $1 AND agent = '' AND day = '-infinity'",
    )
    .bind(wallet(1).to_string())
    .fetch_one(pool)
    .await
    .unwrap();
    assert_eq!(of_one, i64::from(EXECUTIONS / 2));
}
