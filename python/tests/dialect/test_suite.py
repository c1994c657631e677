"""SQLAlchemy's tests of what a dialect reads; conftest.py says how tables come to have rows."""

from sqlalchemy.testing import suite

KEPT = """
    BinaryTest BitwiseTest BooleanTest CastTypeDecoratorTest CompoundSelectTest DateTest
    DateTimeCoercedToDateTimeTest DateTimeMicrosecondsTest DateTimeTest DifficultParametersTest DistinctOnTest
    EnumTest EscapingTest ExistsTest ExpandingBoundInTest FetchLimitOffsetTest FutureTableDDLTest HasTableTest
    IntegerTest IsOrIsNotDistinctFromTest JoinTest LikeFunctionsTest NumericTest OrderByLabelTest
    PercentSchemaNamesTest PingTest PostCompileParamsTest QuotedNameArgumentTest RowFetchTest
    SameNamedSchemaTableTest StringTest TableViaSelectTest TextTest TimeMicrosecondsTest TimeTest
    TimestampMicrosecondsTest UnicodeTextTest UnicodeVarcharTest ValuesExpressionTest WindowFunctionTest
    """.split()

globals().update({name: getattr(suite, name) for name in KEPT})


class TrueDivTest(suite.TrueDivTest):
    """Division: but a quotient of decimals is a DOUBLE, as DuckDB's."""

    test_truediv_numeric = None
    test_truediv_divisor = None
