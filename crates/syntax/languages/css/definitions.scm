; If two patterns capture one node, the earlier one wins.
(rule_set (selectors) @name) @rule
(keyframes_statement (keyframes_name) @name) @rule
(media_statement . "@media" . (_) @name . (block)) @block
(media_statement (_) @name . (block)) @block
(supports_statement . (_) @name) @block
(at_rule (at_keyword) . (_) @name . (block)) @block
(at_rule (at_keyword) @name . (block)) @block
(declaration (property_name) @name (#match? @name "^--")) @property
