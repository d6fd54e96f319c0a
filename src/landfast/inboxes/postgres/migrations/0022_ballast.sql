-- Room that is kept back for a full disk: of no use, except that its one part can be dropped, which takes no room, and
-- gives all of its own back at once. A part, because those come and go and are not looked at.
CREATE TABLE landfast.ballast (laid integer NOT NULL) PARTITION BY LIST (laid);
