//! Scenarios from text to result.

mod outcome;

mod accounts;
mod closed_forms;
mod environments;
mod extra_segments;
mod extremes;
mod link_layers;
mod multipath;
mod network_rules;
mod networks;
mod played;
mod promises;
mod published_properties;
mod queues;
mod random;
mod relays;
mod routers;
mod scenario_errors;
mod scenario_mistakes;
mod scenario_resolve;
mod scenario_text;
mod tfrc;
mod time_line_keys;
mod time_lines;
mod timers;
mod written_out;
