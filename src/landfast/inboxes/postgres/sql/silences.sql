SELECT name, subject, until, who, why, at FROM landfast.silence WHERE until > landfast.clock() ORDER BY name, subject
