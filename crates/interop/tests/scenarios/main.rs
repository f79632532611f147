//! The situations of the captures, with the model of the Linux module at one end and a real endpoint at the other, in
//! both directions wherever that makes sense. The number in a name is the capture's.

mod courses;
mod failures;
mod forms;
mod loss;
mod stage;
