//go:build cgo

package plan_test

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
)

// Edges of functions, operators and casts at which DuckDB 2.0.0 gives these answers.
func TestEdges(t *testing.T) {
	eng := openEngine(t)
	for text, want := range map[string]string{
		`'\x41b\x00'::BLOB = 'Ab\x00'`:                                      "true",
		`'a\x00\xff"'::BLOB::VARCHAR`:                                       `a\x00\xFF\x22`,
		`('\x41'::BLOB || '\x00'::BLOB)::VARCHAR || '!'`:                    `A\x00!`,
		`TRY_CAST('\x4' AS BLOB) IS NULL AND TRY_CAST('ä' AS BLOB) IS NULL`: "true",
		`5e0 // nullif(0, 0) IS NULL AND isnan(5e0 % 0) AND isinf(5 / 0)`:   "true",
		`7e0 // 2`: "3.5",
		`regexp_replace('abcb', '(x)|b', '<\1\0\\>')`: `a<b\>cb`,
		`TRY_CAST(-0.25::DOUBLE AS UTINYINT) = 0 AND TRY_CAST(-0.25::FLOAT AS UBIGINT) = 0 AND TRY_CAST(-0.75::FLOAT AS UBIGINT) IS NULL`: "true",
		`TRY_CAST(-128.25::DOUBLE AS TINYINT) = -128 AND TRY_CAST(-128.6::DOUBLE AS TINYINT) IS NULL`:                                     "true",
		`CAST(127.25::DOUBLE AS TINYINT)`:                                                               "127",
		`CAST('0x1F' AS INTEGER) + CAST('0B11' AS UTINYINT) + CAST('0x1_0' AS BIGINT)`:                  "50",
		`(100::TINYINT + 100::INTEGER)::VARCHAR || (100::TINYINT + -(100::INTEGER))`:                    "2000",
		`CAST('0xFFFFFFFFFFFFFFFF' AS UBIGINT)`:                                                         "18446744073709551615",
		`coalesce(TRY_CAST('0x100' AS UTINYINT), TRY_CAST('-0x1' AS INTEGER), TRY_CAST('0x' AS INT))`:   "NULL",
		`coalesce(TRY_CAST('1_' AS INTEGER), TRY_CAST('1__0' AS INTEGER), TRY_CAST('_1' AS SMALLINT))`:  "NULL",
		`CAST('-1e400' AS DOUBLE)`:                                                                      "-Inf",
		`CAST('2020-01-31 04:05:06+02' AS TIME)::VARCHAR || CAST('2020-1-31' AS TIME)`:                  "04:05:0600:00:00",
		`hour(TIME '24:00:00') + hour(TIME '24:00:00' + INTERVAL 1 HOUR)`:                               "25",
		`TRY_CAST('24:00:01' AS TIME)`:                                                                  "NULL",
		`TIMESTAMP '2020-01-31 24:00:00' = TIMESTAMP '2020-02-01'`:                                      "true",
		`TIMESTAMP '2020-01-31' + INTERVAL '-100:30:00' = TIMESTAMP '2020-01-26 19:30:00'`:              "true",
		`split_part('aüb', '', 2) || split_part('aüb', '', -1) || split_part('aüb', '', 4)`:             "üb",
		`ascii('') || ':' || unicode('') || ':' || ord('ü')`:                                            "0:-1:252",
		`round(255::UTINYINT, -2)`:                                                                      "300",
		`round(18446744073709551615::UBIGINT, -2)`:                                                      "18446744073709551600",
		`round(-12350::HUGEINT, -2)`:                                                                    "-12400",
		`1e-38::DECIMAL(38, 38) % 2.5`:                                                                  "1e-38",
		`9007199254740993.0::DOUBLE`:                                                                    "9.007199254740992e+15",
		`0.9219130277633667::DOUBLE`:                                                                    "0.9219130277633667",
		`(-.30273651868325379)::DECIMAL(38, 30)::DOUBLE = '-.30273651868325379'::DOUBLE`:                "true",
		`0.00000000000000000000000000000000000003::DOUBLE = 3e-38`:                                      "true",
		`1.000000059604644776::FLOAT = 1.0000001::FLOAT AND 1.000000059604644775::FLOAT = 1`:            "true",
		`1000000059604644776::BIGINT::FLOAT::DOUBLE = 1000000053026226176`:                              "true",
		`9007199791611905::BIGINT::FLOAT::DOUBLE = 9007200328482816`:                                    "true",
		`0.9219130277633667 = 0.9219130277633667::DOUBLE AND 0.9219130277633667 < 0.9219130277633668e0`: "true",
		`12345678901234567890.12345::DOUBLE`:                                                            "1.2345678901234567e+19",
		`(-0.05)::DECIMAL(2, 2)::VARCHAR || .5 || 0.5`:                                                  "-.05.50.5",
		`acos(1.5)::VARCHAR || asin('inf'::DOUBLE) || sqrt(-1) || ln(-1) || sin('inf'::DOUBLE)`:         "nannannannannan",
		`ln(0)::VARCHAR || log10(0) || log2(0)`:                                                         "-inf-inf-inf",
		`round(ln(5e-324), 3)`:                                                                          "-744.44",
		`round('nan'::DOUBLE, -1)::VARCHAR || round('-inf'::DOUBLE, -1) || round(1e300, 400)`:           "nan-inf1e+300",
		`date_trunc(NULL, DATE '2020-01-01') IS NULL AND strftime(DATE '2020-01-01', NULL) IS NULL AND ('a' LIKE 'a' ESCAPE NULL) IS NULL`: "true",
		`octet_length('ab\x00'::BLOB)`:            "3",
		`round(1.5, NULL) IS NULL`:                "true",
		`999999999999999.999::DECIMAL(18, 3) + 1`: "1000000000000000.999",
		`'2020-01-01T08:00:00+08'::TIMESTAMP::VARCHAR || '2020-01-01T08:00:00+08'::TIMESTAMPTZ`: "2020-01-01 08:00:002020-01-01 00:00:00+00",
		`'2020-01-01 10:11:12+08:30:15'::TIMESTAMPTZ = '2020-01-01 01:40:57+00'::TIMESTAMPTZ`:   "true",
		`'2020-01-01 24:00:00'::TIME::VARCHAR || 'epoch'::DATE`:                                 "00:00:001970-01-01",
		`TRY_CAST(1e308 AS FLOAT) IS NULL AND TRY_CAST('1 dax' AS INTERVAL) IS NULL`:            "true",
		`1e38::DOUBLE::HUGEINT`:                       "99999999999999997748809823456034029568",
		`' 0x1F'::HUGEINT::VARCHAR || '-nan'::DOUBLE`: "31nan",
		`INTERVAL '1 month' = INTERVAL '30 days' AND INTERVAL '1 month' < INTERVAL '31 days'`:              "true",
		`INTERVAL '1 day' IN (INTERVAL '24 hours') AND INTERVAL '1 day' <> INTERVAL '25 hours'`:            "true",
		`INTERVAL '2 days' BETWEEN INTERVAL '1 day' AND INTERVAL '1 week' AND NULL::INTERVAL IS NULL`:      "true",
		`INTERVAL '1 day' IS DISTINCT FROM NULL::INTERVAL AND (INTERVAL '1 day' = NULL::INTERVAL) IS NULL`: "true",
		`(DATE '2020-01-31' + greatest(INTERVAL '1 day', INTERVAL '1 month', NULL))::VARCHAR`:              "2020-02-29 00:00:00",
		`(DATE '2020-01-31' - CASE WHEN 1 > 2 THEN INTERVAL '1 day' ELSE '2 days' END)::VARCHAR`:           "2020-01-29 00:00:00",
		`(DATE '2020-01-31' + nullif(INTERVAL '1 day', INTERVAL '24 hours')) IS NULL`:                      "true",
		`strptime('UTC)2020', '%Z)%Y')::VARCHAR || strptime('2020 GMT;05', '%Y %Z;%m')`:                    "2020-01-01 00:00:00+002020-05-01 00:00:00+00",
		`18446744073709551615::UBIGINT & 255`:                                                              "255",
		`xor(18446744073709551615::UBIGINT, 1) | 1`:                                                        "18446744073709551615",
		`(18446744073709551615::UBIGINT >> 63) << 63`:                                                      "9223372036854775808",
		`(-5 >> 31) || ':' || (-5 >> 32) || ':' || (-5::TINYINT >> 8) || ':' || (-5::BIGINT >> 63)`:        "-1:0:0:-1",
		`(1 & NULL) IS NULL AND (NULL | 1::UBIGINT) IS NULL AND xor(NULL, NULL) IS NULL`:                   "true",
	} {
		if got := one(t, eng, "SELECT "+text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"x = 'one'": "'one' is no INTEGER", "s || DATE '2020-01-01' > s AND DATE '2020-01-01' < '2020-13-01'": "'2020-13-01' is no DATE",
		"5 // 0": "division by 0", "5.5 // 0": "division by 0", "5e0 // 0": "division by 0", "x % 0": "division by 0", "5.5 % (x - x)": "division by 0",
		"1e-38::DECIMAL(38, 38) % 0.0": "division by 0", "substr(s, 4294967296)": "the place 4294967296", "substr(s, 1, -4294967297)": "the length -4294967297", "left(s, 4294967296)": "the length",
		"-2147483648 - 1": "does not fit INTEGER", "123456789012345678901234567890123456789": "an integer of 39 digits",
		"1e308::FLOAT": "does not fit FLOAT", "' true'::BOOLEAN": "does not fit BOOLEAN",
		`regexp_replace('abc', 'x', '\1')`:      "names group 1, the pattern has 0",
		`regexp_replace(s, '(b)', '<\3>', 'g')`: `the replacement '<\3>' names group 3, the pattern has 1`,
		`regexp_replace(s, '(b)', '\1\')`:       "ends with a backslash",
		`regexp_replace(s, 'b', 'y\x', 'g')`:    "neither a digit nor another",
		"2::UBIGINT << 63":                      "does not fit UBIGINT",
		"2147483647::INTEGER + x::UTINYINT":     "does not fit INTEGER", `'\'::BLOB`: "does not fit BLOB",
	} {
		_, err := ask(eng, "SELECT "+text+" FROM docs", map[string]plan.Table{"docs": {Source: docsTable()}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got the error %v, want %q", text, err, want)
		}
	}
}

// Would catch an answer of DuckDB 1.5.5, which 2.0.0 has given up: roundings down and replacements without groups.
func TestEdgesOfVersion2(t *testing.T) {
	eng := openEngine(t)
	for text, want := range map[string]string{
		"epoch_ms(TIMESTAMP '1969-12-31 23:59:59.9996')":   "0",
		"epoch_ms(TIMESTAMP '1969-12-31 23:59:59.9995')":   "-1",
		"epoch_ms(TIMESTAMP '1969-12-31 23:59:59.9984')":   "-2",
		"epoch_ms(TIMESTAMP '1970-01-01 00:00:00.0005')":   "1",
		"epoch_ms(TIMESTAMP '1970-01-01 00:00:00.000499')": "0",
		"epoch_ms(TIMESTAMP '9999-12-31 23:59:59.999999')": "253402300800000",
		"TRY_CAST(-128.4 AS TINYINT)":                      "-128",
		"TRY_CAST('-128.4' AS TINYINT)":                    "-128",
		"TRY_CAST(-128.5::DOUBLE AS TINYINT)":              "-128",
		"TRY_CAST(-128.5 AS TINYINT)":                      "NULL",
		"TRY_CAST('-128.5' AS TINYINT)":                    "NULL",
		"TRY_CAST(127.5::DOUBLE AS TINYINT)":               "NULL",
		"TRY_CAST(-0.4 AS UTINYINT)":                       "0",
		"TRY_CAST('-0.4' AS UTINYINT)":                     "NULL",
		"TRY_CAST('-0' AS UTINYINT)":                       "0",
		`regexp_replace('abcb', 'b', 'y\\x')`:              `ay\xcb`,
		`regexp_replace('abc', '(b)|(z)', '<\2>')`:         "a<>c",
		`regexp_replace(NULL, '(b)', '\3')`:                "NULL",
		`regexp_replace('abc', '(b)', NULL)`:               "NULL",
		`regexp_replace('abc', NULL, '\3')`:                "NULL",
	} {
		if got := one(t, eng, "SELECT "+text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// A DOUBLE and a FLOAT made of a decimal, of any number of digits and places, are those that its
// text denotes.
func TestNearestFloats(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	eng := openEngine(t)
	for _, precision := range []int32{9, 16, 17, 18, 19, 25, 38} {
		for scale := int32(0); scale <= precision; scale += 1 + rng.Int32N(4) {
			schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: &arrow.Decimal128Type{Precision: precision, Scale: scale}}}, nil)
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			defer b.Release()
			for range 200 {
				text := make([]byte, 1+rng.Int32N(precision))
				for i := range text {
					text[i] = '0' + byte(rng.IntN(10))
				}
				v, _ := new(big.Int).SetString(string(text), 10)
				if rng.IntN(2) == 0 {
					v.Neg(v)
				}
				b.Field(0).(*array.Decimal128Builder).Append(decimal128.FromBigInt(v))
			}
			tables := map[string]plan.Table{"t": {Source: scan.Batches(schema, []arrow.RecordBatch{b.NewRecordBatch()})}}
			answers(t, eng, tables, "SELECT x, x::DOUBLE, x::FLOAT FROM t WHERE x::DOUBLE <> x::VARCHAR::DOUBLE OR x::FLOAT <> x::VARCHAR::FLOAT", "[]")
			answers(t, eng, tables, "SELECT x FROM (SELECT x, avg(x) AS a, median(x) AS m, count(DISTINCT x) FROM t GROUP BY x) WHERE a <> x::VARCHAR::DOUBLE OR m <> a", "[]")
		}
	}
}

// A mean is rounded once, also where it is made of the sums and counts of parts.
func TestNearestMeans(t *testing.T) {
	eng := openEngine(t)
	tables := map[string]plan.Table{"docs": {Source: docsTable()}}
	for _, beside := range []string{"", ", count(DISTINCT x)", ", median(x)"} {
		answers(t, eng, tables, "SELECT a = 0.9219130277633667e0 FROM (SELECT avg(0.9219130277633667::DECIMAL(17, 16) + 0 * x) AS a"+beside+" FROM docs)", "[[true]]")
	}
}

// The least numbers of a float16, which have no exponent, are keys, arguments and orders as others
// are.
func TestSmallHalves(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "h", Type: arrow.FixedWidthTypes.Float16}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, bits := range []uint16{0x8001, 3, 1, 0x400, 1} { // in units of 2^-24: -1, 3, 1, 1024, 1
		b.Field(0).(*array.Float16Builder).Append(float16.FromBits(bits))
	}
	tables := map[string]plan.Table{"t": {Source: scan.Batches(schema, []arrow.RecordBatch{b.NewRecordBatch()})}}
	eng := openEngine(t)
	for text, want := range map[string]string{
		"SELECT h * 16777216, count(*) FROM t GROUP BY h ORDER BY h": "[[-1 1] [1 2] [3 1] [1024 1]]",
		"SELECT sum(h) * 16777216, avg(h * 16777216) FROM t":         "[[1028 205.6]]",
		"SELECT max(h) * 16777216 FROM t WHERE h < 0.00005":          "[[3]]",
	} {
		answers(t, eng, tables, text, want)
	}
}
