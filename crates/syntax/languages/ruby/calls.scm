(call method: [(identifier) (constant)] @name) @call
(super) @name @call
