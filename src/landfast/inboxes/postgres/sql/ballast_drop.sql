DROP TABLE IF EXISTS landfast.ballast_laid
