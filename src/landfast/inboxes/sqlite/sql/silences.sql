SELECT name, subject, until, who, why, at FROM silence WHERE until > ? ORDER BY name, subject
