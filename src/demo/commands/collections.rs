//! What commands of several types do alike.

use super::{Call, Outcome};
use crate::demo::store::Kind;

/// How many members a value has; 0 where there is none.
pub fn len<T: Kind>(call: &mut Call<'_>) -> Outcome {
    let (value, reply) = call.read::<T>()?;
    reply.count(value.map_or(0, T::len));
    Ok(())
}

/// Removes members; how many were there.
pub fn remove<T: Kind>(call: &mut Call<'_>, remove: fn(&mut T, &[u8]) -> bool) -> Outcome {
    let members = call.arguments.from(2);
    let is_there = call
        .change(|value: &mut T, reply| reply.count(members.filter(|member| remove(value, member)).count()))?;
    if !is_there {
        call.reply.count(0);
    }
    Ok(())
}
