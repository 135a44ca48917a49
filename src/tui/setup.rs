//! The setup of the screen: its appearance and its state at the start.

use super::theme::{Theme, theme_names};
use crate::{
    app::{CommandPrefix, Model, Playback, Tour},
    experiment::Experiment,
    knobs::Knobs,
    session::{SessionRecords, TimelineOptions},
};

/// The options of the screen: its appearance and its state at the start.
pub struct ScreenSetup {
    /// The theme: colours and drawing characters.
    pub theme: Theme,
    /// The knobs of the source at the start.
    pub knobs: Knobs,
    /// The options of the timeline.
    pub timeline: TimelineOptions,
    /// The recording that is shown; `None` if the source is live.
    pub playback: Option<Playback>,
    /// The command line with which a live session began.
    pub program: CommandPrefix,
    /// Whether the terminal reports the mouse.
    pub mouse: bool,
    /// The experiment to begin with.
    pub experiment: Option<Box<dyn Experiment>>,
    /// The tour to play, on the built-in server.
    pub tour: Option<Tour>,
    /// The records for exports.
    pub kept: Option<SessionRecords>,
}

impl ScreenSetup {
    /// Returns the setup of a live screen with this appearance.
    pub fn new(theme: Theme, mouse: bool) -> Self {
        Self {
            theme,
            knobs: Knobs::default(),
            timeline: TimelineOptions::default(),
            playback: None,
            program: CommandPrefix::default(),
            mouse,
            experiment: None,
            tour: None,
            kept: None,
        }
    }

    /// Returns the model of the screen at the start.
    pub(super) fn model(&self) -> Model {
        let mut model = match &self.playback {
            Some(playback) => Model::replaying(playback.clone(), self.timeline),
            None => Model::new(self.knobs.clone(), self.timeline),
        };
        let (program, tour) = (self.program.clone(), self.tour.clone());
        (model.themes, model.program, model.tour) = (theme_names(), program, tour);
        model.with_experiment(self.experiment.clone())
    }
}
