//! Applies roles and parameters that were announced and are due, so that nobody can choose the moment within the week
//! in which an announcement can be applied.

use agent_marketplace::state::Config;
use crtx_store::housekeeping::Chore;
use solana_instruction::Instruction;

use super::send::{Job, send};
use crate::{
    engine::{Engine, EngineError},
    pauses::Pauses,
};

const UNITS: u32 = 10_000;

/// Reads the configuration and applies what is due by the chain's clock.
pub(super) async fn apply(engine: &Engine, pauses: &mut Pauses, now_unix_s: i64) -> Result<(), EngineError> {
    let address = engine.instructions.addresses.config();
    let account = engine.chain.account(&address).await?.value;
    let Some(config) = engine.decode::<Config>(account.as_ref()) else { return Ok(()) };
    for instruction in due(engine, &config, now_unix_s) {
        if !pauses.allow(&address) {
            return Ok(());
        }
        let job = Job::of(Chore::ApplyAnnouncement, true, engine.budget(UNITS), instruction, UNITS);
        let outcome = send(engine, &job, pauses.refusals(&address) > 0).await?;
        pauses.note(&[address], &outcome, "apply an announcement");
    }
    Ok(())
}

fn due(engine: &Engine, config: &Config, now_unix_s: i64) -> Vec<Instruction> {
    let is_due = |apply_from: i64| Config::check_due(apply_from, now_unix_s).is_ok();
    let roles = is_due(config.roles_apply_from_unix_s).then(|| engine.instructions.apply_roles());
    let parameters = is_due(config.parameters_apply_from_unix_s).then(|| engine.instructions.apply_parameters());
    roles.into_iter().chain(parameters).collect()
}
