-- Whoever records meanwhile has either committed by now, or sees what this transaction has written.
LOCK TABLE landfast.work, landfast.shelf IN SHARE ROW EXCLUSIVE MODE
