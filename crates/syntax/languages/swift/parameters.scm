(parameter name: (simple_identifier) @name) @parameter
(parameter ":" (_) @type .) @parameter
; The default value is next to its parameter.
((parameter) @parameter . "=" . (_) @default)
