//! What `docs/quickstart-buy.md` shows.
use crtx_sdk::{AgentFilter, CallOptions, Client, Error, Problem};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let client = Client::from_env()?;
    let filter = AgentFilter { q: Some("text-stats".to_owned()), ..AgentFilter::default() };
    let agent = client.agents().search(&filter).await?.agents.remove(0);
    let call = CallOptions { idempotency_key: Some("order-8".to_owned()), ..CallOptions::default() };
    match client.execute(&agent.agent_id, "one two three", &call).await {
        Ok(bought) => println!("{} for {} USDC", bought.result, bought.cost_usdc),
        Err(error) => match &*error.problem {
            Problem::Api(refused) if refused.is_refund() => println!("refunded: {refused}"),
            Problem::OutcomeUnknown(why) => println!("perhaps paid; call again with the same key: {why}"),
            _ => return Err(error),
        },
    }
    Ok(())
}
