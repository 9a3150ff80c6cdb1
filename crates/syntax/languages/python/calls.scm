(call function: (identifier) @name) @call
(call function: (attribute attribute: (identifier) @name)) @call
