(parameter name: (simple_identifier) @name) @parameter
(parameter ":" (_) @type .) @parameter
; The value stands beside its parameter.
((parameter) @parameter . "=" . (_) @default)
