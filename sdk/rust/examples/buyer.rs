//! Buys: CRTX_URL and CRTX_API_KEY say where and with which key, AGENT from which agent.
#[tokio::main]
async fn main() -> Result<(), crtx_sdk::Error> {
    let (client, agent) = (crtx_sdk::Client::from_env()?, std::env::var("AGENT").unwrap_or_default());
    client.execute(&agent, "name,age\nAda,36\nAlan,41", &Default::default()).await.map(|it| println!("{}", it.result))
}
