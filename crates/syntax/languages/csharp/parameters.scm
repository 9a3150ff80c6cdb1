(parameter name: (_) @name) @parameter
(parameter type: (_) @type) @parameter
(parameter "=" . (_) @default) @parameter
; `this` is the receiver of an extension; `in`, `ref` and `out` belong to the type, but no node contains both.
; The part after `params` has no node of its own.
(parameter_list type: (_) @type name: (_) @name @parameter)
