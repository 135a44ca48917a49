//! What an experiment will put in force, looked at before it begins.

use crate::{
    cli::UsageError,
    experiment::Setting,
    server::value_words,
    session::running::{Commission, Keys, check_clients},
};

/// Whether all of its settings can be, and a person has said yes to what they set of a server that is not our own.
///
/// # Errors
/// Names the first setting that cannot be, or asks for consent.
pub fn check_settings(settings: &[Setting], commission: &Commission) -> Result<(), UsageError> {
    for setting in settings {
        check_clients(&setting.knobs, commission.most_clients).map_err(UsageError::Line)?;
        let needs_consent = commission.keys != Keys::OwnServers && !commission.is_allowed;
        if let Some((parameter, to)) = setting.config.first().filter(|_| needs_consent) {
            return Err(UsageError::NeedsYes(format!(
                "{} of {} would be set to {} and back for everybody who uses it.",
                parameter.name,
                commission.plan.target.address,
                value_words(to)
            )));
        }
    }
    Ok(())
}
