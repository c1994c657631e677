"""GROUP BY over files by mpga, with Spark to schedule its tasks.

>>> import mpga_spark
>>> result = mpga_spark.run(spark, "SELECT k, sum(v) FROM 's3://bucket/in/*.parquet' GROUP BY k",
...                         "s3://bucket/out", work="s3://bucket/work")  # doctest: +SKIP
>>> result.dataframe().show()  # doctest: +SKIP
"""

from ._errors import Error
from ._result import Metrics, Result
from ._run import run, run_steps

__all__ = ["Error", "Metrics", "Result", "run", "run_steps"]
__version__ = "0.1.0"

for _class in (Error, Metrics, Result):
    _class.__module__ = __name__  # as programs write it
del _class
