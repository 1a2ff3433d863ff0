//! The part of a program that counts, in definitions and on the command line.

use hps_lab::{BEGIN_MARKER, END_MARKER, LabError, Place, Program, Region, WARM_BY_ALL};
use serde::{Deserialize, Serialize};

/// The part of a program that counts, by keys with the meaning of the options of `hps run`; all if none is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Part {
    /// Begin behind so many instructions.
    pub skip: u64,
    /// Begin where the program comes to this function for the first time (behind `skip`).
    pub from: Option<String>,
    /// End behind so many instructions of the part, or where the program comes to this function.
    pub until: Option<String>,
    /// Begin and end at the markers in the program.
    pub between_markers: bool,
    /// Begin with the caches and predictors that so many instructions in front of the part leave; `all`: all of them.
    pub warm: Option<String>,
}

impl Part {
    pub(crate) fn is_all(&self) -> bool {
        *self == Part::default()
    }

    /// Where the part begins; `None`: where the program does.
    ///
    /// # Errors
    /// Options that contradict each other, `warm` that is no number, or `warm` with nothing in front of the part.
    pub fn region(&self) -> Result<Option<Region>, String> {
        let warm = match self.warm.as_deref() {
            None => None,
            Some("all") => Some(WARM_BY_ALL),
            Some(text) => Some(text.parse().map_err(|_| {
                format!(
                    "warm is {text}: write a number of instructions in front of the part, or all"
                )
            })?),
        };
        let from = match (&self.from, self.between_markers) {
            (Some(_), true) => return Err("from goes without between_markers".to_owned()),
            (Some(function), false) => Some(Place::Function(function.clone())),
            (None, true) => Some(Place::Marker(BEGIN_MARKER)),
            (None, false) => None,
        };
        if self.skip == 0 && from.is_none() {
            return match warm {
                None => Ok(None),
                Some(_) => Err("nothing comes before the part that warm could use: skip, from or between_markers say \
                    where it begins"
                    .to_owned()),
            };
        }
        let skip = self.skip;
        Ok(Some(Region { skip, from, warm }))
    }

    /// How many instructions of the part count; `None` for all. `program` has its region and what it gets from outside.
    ///
    /// # Errors
    /// The errors of [`Program::instructions_until`].
    pub fn length(&self, program: &Program) -> Result<Option<u64>, LabError> {
        let end = match (&self.until, self.between_markers) {
            (_, true) => Place::Marker(END_MARKER),
            (None, false) => return Ok(None),
            (Some(text), false) => match text.parse() {
                Ok(instructions) => return Ok(Some(instructions)),
                Err(_) => Place::Function(text.clone()),
            },
        };
        program.instructions_until(&end).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_says_what_it_cannot_be() {
        let problem = |part: Part| part.region().expect_err("no part");
        let warm = Some("all".to_owned());
        assert!(
            problem(Part {
                warm,
                ..Part::default()
            })
            .contains("skip, from or between_markers")
        );
        let part = Part {
            skip: 5,
            warm: Some("hot".to_owned()),
            ..Part::default()
        };
        assert!(problem(part).contains("write a number"));
        let part = Part {
            skip: 5,
            warm: Some("3".to_owned()),
            ..Part::default()
        };
        let region = part.region().expect("a part").expect("a region");
        assert_eq!((region.skip, region.warm), (5, Some(3)));
        assert_eq!(Part::default().region(), Ok(None));
    }
}
