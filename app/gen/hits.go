package gen

import (
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
)

// Hits returns a table of the shape of ClickBench's hits: its 105 columns, and texts as a web
// analytics system has them. Titles and phrases are in letters of two bytes. Half of the URLs occur
// once; there are 30,000 titles; a third of the referrers and seven eighths of the phrases are
// empty; few users have most rows. No column has NULLs.
//
// What a row holds follows from its number and the seed alone (G2).
func Hits(rows int64, seed uint64) (*Table, error) {
	if rows < 0 || rows > rowsMax {
		return nil, fmt.Errorf("rows (%d) must be from 0 to %d", rows, int64(rowsMax))
	}
	g := &hits{seed: mix(seed), users: max(rows/hitsPerUser, 1)}
	fields := make([]arrow.Field, len(hitsColumns))
	stats := make([]scan.ColumnStats, len(hitsColumns))
	for i, c := range hitsColumns {
		fields[i] = arrow.Field{Name: c.name, Type: c.typ}
		stats[i].NoNulls = true
	}
	g.starts = blockStarts(rows)
	name := fmt.Sprintf("hits, %d rows", rows)
	return &Table{name: name, schema: arrow.NewSchema(fields, nil), columns: stats, starts: g.starts, open: g.open}, nil
}

// hits makes the rows of the table.
type hits struct {
	seed   uint64
	users  int64
	starts []int64 // of Table
}

// hitsColumn is a column: its values are numbers, or texts.
type hitsColumn struct {
	name   string
	typ    arrow.DataType
	number func(g *hits, row uint64) int64
	text   func(g *hits, dst []byte, row uint64) []byte
}

// hitsPerUser is the mean number of a user's rows.
const hitsPerUser = 8

// Streams of random numbers: columns that belong together draw from the same.
const (
	drawDay = iota + 1000
	drawSecond
	drawURL
	drawPhrase
	drawUser
)

// draw returns the random number of a row in a stream.
func (g *hits) draw(row uint64, stream int) uint64 {
	return mix(mix(row+g.seed) + uint64(stream)*golden)
}

// share returns a number in [0, 1).
func (g *hits) share(row uint64, stream int) float64 {
	return float64(g.draw(row, stream)>>11) / (1 << 53)
}

// skewed returns a number below n: the larger the power, the more often a small one.
func (g *hits) skewed(row uint64, stream int, n int64, power float64) uint64 {
	return uint64(float64(n) * math.Pow(g.share(row, stream), power))
}

func number(name string, typ arrow.DataType, of func(g *hits, row uint64) int64) hitsColumn {
	return hitsColumn{name: name, typ: typ, number: of}
}

func text(name string, of func(g *hits, dst []byte, row uint64) []byte) hitsColumn {
	return hitsColumn{name: name, typ: arrow.BinaryTypes.String, text: of}
}

// few is a column of numbers from 0 to n-1. The share zeros of the rows has 0 besides.
func few(name string, typ arrow.DataType, n uint64, zeros float64) hitsColumn {
	stream := nameStream(name)
	return number(name, typ, func(g *hits, row uint64) int64 {
		if zeros > 0 && g.share(row, stream+1) < zeros {
			return 0
		}
		return int64(g.draw(row, stream) % n)
	})
}

// words is a column of short texts, n different ones. The share empty of the rows has "".
func words(name string, n uint64, empty float64) hitsColumn {
	stream := nameStream(name)
	return text(name, func(g *hits, dst []byte, row uint64) []byte {
		if g.share(row, stream+1) < empty {
			return dst
		}
		return strconv.AppendUint(append(dst, name[:2]...), g.draw(row, stream)%n, 10)
	})
}

// Streams of columns that are computed by a method.
var (
	drawTitle   = nameStream("Title")
	drawReferer = nameStream("Referer")
)

// nameStream returns the stream of a column that no other column shares.
func nameStream(name string) (stream int) {
	for _, b := range []byte(name) {
		stream = stream*31 + int(b)
	}
	return stream & (1<<40 - 1) << 1
}

const (
	july2013 = 15887 // days since 1970-01-01
	daySecs  = 86400
)

// second returns when a row happened, in seconds since 1970-01-01.
func (g *hits) second(row uint64) int64 {
	return (july2013+int64(g.draw(row, drawDay)%31))*daySecs + int64(g.draw(row, drawSecond)%daySecs)
}

// moment is a column of times: when the row happened, or less than late seconds later.
func moment(name string, late uint64) hitsColumn {
	stream := nameStream(name)
	return number(name, &arrow.TimestampType{Unit: arrow.Microsecond}, func(g *hits, row uint64) int64 {
		at := g.second(row)
		if late > 0 {
			at += int64(g.draw(row, stream) % late)
		}
		return at * 1e6
	})
}

// url returns the number of a row's URL: one that only this row has, or one of the popular.
func (g *hits) url(row uint64) uint64 {
	if d := g.draw(row, drawURL); d%2 == 0 {
		return row + hitsPopularURLs
	}
	return g.skewed(row, drawURL+100, hitsPopularURLs, 2)
}

const (
	hitsPopularURLs = 200_000
	hitsTitles      = 30_000
	hitsPhrases     = 200_000
)

// appendURL appends a URL of 45 bytes on average.
func (g *hits) appendURL(dst []byte, row uint64) []byte {
	n := g.url(row)
	d := mix(n + g.seed)
	dst = append(dst, "http://"...)
	switch host := d % 1000; {
	case host < 8:
		dst = append(dst, "www.google.com/search"...)
	case host < 12:
		dst = append(dst, "maps.google.ru/place"...)
	default:
		dst = strconv.AppendUint(append(dst, "site"...), host, 10)
		dst = append(dst, ".ru/section"...)
	}
	dst = strconv.AppendUint(append(dst, '/'), d>>20%100, 10)
	dst = strconv.AppendUint(append(dst, "/page"...), d>>30%100_000, 10)
	return strconv.AppendUint(append(dst, "?id="...), n, 10)
}

// appendReferer appends nothing, or an address of 45 bytes on average.
func (g *hits) appendReferer(dst []byte, row uint64) []byte {
	d := g.draw(row, drawReferer)
	if d%3 == 0 {
		return dst
	}
	dst = append(dst, "http"...)
	if d>>8%4 == 0 {
		dst = append(dst, 's')
	}
	dst = append(dst, "://"...)
	if d>>12%2 == 0 {
		dst = append(dst, "www."...)
	}
	host := g.skewed(row, drawReferer+1, 5000, 3)
	dst = append(strconv.AppendUint(append(dst, "referrer"...), host, 10), ".com/some/path"...)
	return strconv.AppendUint(append(dst, "?from="...), d>>20%1_000_000, 10)
}

// syllables are of letters of two bytes.
var syllables = [...]string{
	"ка", "ро", "ви", "ста", "не", "по", "ли", "то", "ра", "ко", "ми", "да", "се",
	"го", "во", "ни", "те", "ла", "пе", "жу", "бы", "щи", "фо", "эк", "юр", "ямб",
}

// appendWords appends count syllables, in words.
func appendWords(dst []byte, d uint64, count int) []byte {
	for i := range count {
		if i > 0 && (d>>40)%3 == 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, syllables[d>>32%uint64(len(syllables))]...)
		d = mix(d + golden)
	}
	return dst
}

// appendTitle appends one of the titles: of 45 bytes on average, one in a hundred with a Latin word.
func (g *hits) appendTitle(dst []byte, row uint64) []byte {
	n := g.skewed(row, drawTitle, hitsTitles, 2)
	d := mix(n + g.seed)
	dst = appendWords(dst, d, 8+int(d%5))
	if d>>8%100 == 0 {
		dst = append(dst, " - Google"...)
	}
	return dst
}

// phrase says whether a row is of a search, and returns the number of its phrase.
func (g *hits) phrase(row uint64) (uint64, bool) {
	if g.draw(row, drawPhrase)%8 != 0 {
		return 0, false
	}
	return g.skewed(row, drawPhrase+100, hitsPhrases, 3), true
}

func (g *hits) appendPhrase(dst []byte, row uint64) []byte {
	n, ok := g.phrase(row)
	if !ok {
		return dst
	}
	d := mix(n + g.seed + 1)
	return appendWords(dst, d, 3+int(d%6))
}

// userNumber returns the number of the user of a row, from 0 for the user who has most rows.
func (g *hits) userNumber(row uint64) uint64 { return g.skewed(row, drawUser, g.users, 3) }

// user returns the user of a row; the user who has most rows is in ClickBench's questions.
func (g *hits) user(row uint64) int64 {
	n := g.userNumber(row)
	if n == 0 {
		return 435090932899640449
	}
	return int64(mix(n+g.seed) >> 1)
}

// hashOf is a column of hashes, one in a hundred of which is in ClickBench's questions.
func hashOf(name string, asked int64, of func(g *hits, row uint64) uint64) hitsColumn {
	stream := nameStream(name)
	return number(name, int64s, func(g *hits, row uint64) int64 {
		if g.draw(row, stream)%100 == 0 {
			return asked
		}
		return int64(mix(of(g, row)+g.seed+2) >> 1)
	})
}

// counter is the column of sites: a fifth of the rows are of the site in ClickBench's questions.
func counter(name string, typ arrow.DataType) hitsColumn {
	stream := nameStream(name)
	return number(name, typ, func(g *hits, row uint64) int64 {
		if g.draw(row, stream)%10 < 2 {
			return 62
		}
		return int64(g.skewed(row, stream+1, 6000, 2))
	})
}

// region is the column of regions. Few regions have most rows.
func region(name string, typ arrow.DataType) hitsColumn {
	stream := nameStream(name)
	return number(name, typ, func(g *hits, row uint64) int64 { return int64(g.skewed(row, stream, 5000, 3)) })
}

// source is the column of where a visitor came from: -1 to 9.
func source(name string, typ arrow.DataType) hitsColumn {
	stream := nameStream(name)
	return number(name, typ, func(g *hits, row uint64) int64 { return int64(g.draw(row, stream)%11) - 1 })
}

var (
	int16s = arrow.PrimitiveTypes.Int16
	int32s = arrow.PrimitiveTypes.Int32
	int64s = arrow.PrimitiveTypes.Int64
)

// hitsColumns are the columns, in ClickBench's order.
var hitsColumns = []hitsColumn{
	number("WatchID", int64s, func(g *hits, row uint64) int64 { return int64(mix(row+g.seed) >> 1) }),
	few("JavaEnable", int16s, 2, 0), text("Title", (*hits).appendTitle),
	few("GoodEvent", int16s, 2, 0), moment("EventTime", 0),
	number("EventDate", arrow.FixedWidthTypes.Date32, func(g *hits, row uint64) int64 { return g.second(row) / daySecs }),
	counter("CounterID", int32s),
	number("ClientIP", int32s, func(g *hits, row uint64) int64 {
		return int64(int32(mix(g.userNumber(row) + g.seed + 3)))
	}),
	region("RegionID", int32s), number("UserID", int64s, (*hits).user),
	few("CounterClass", int16s, 2, 0), few("OS", int16s, 90, 0), few("UserAgent", int16s, 60, 0),
	text("URL", (*hits).appendURL), text("Referer", (*hits).appendReferer),
	few("IsRefresh", int16s, 2, 0.8), few("RefererCategoryID", int16s, 500, 0.5),
	few("RefererRegionID", int32s, 1000, 0.5), few("URLCategoryID", int16s, 500, 0.5),
	few("URLRegionID", int32s, 1000, 0.5), few("ResolutionWidth", int16s, 2000, 0),
	few("ResolutionHeight", int16s, 1200, 0), few("ResolutionDepth", int16s, 33, 0),
	few("FlashMajor", int16s, 12, 0), few("FlashMinor", int16s, 10, 0),
	words("FlashMinor2", 100, 0.1), few("NetMajor", int16s, 5, 0.5),
	few("NetMinor", int16s, 10, 0.5), few("UserAgentMajor", int16s, 60, 0),
	words("UserAgentMinor", 30, 0.1), few("CookieEnable", int16s, 2, 0),
	few("JavascriptEnable", int16s, 2, 0), few("IsMobile", int16s, 2, 0.9),
	few("MobilePhone", int16s, 100, 0.9), words("MobilePhoneModel", 160, 0.93),
	words("Params", 300, 0.97), few("IPNetworkID", int32s, 20_000, 0),
	source("TraficSourceID", int16s),
	number("SearchEngineID", int16s, func(g *hits, row uint64) int64 {
		n, ok := g.phrase(row)
		if !ok {
			return 0
		}
		return int64(n%60) + 1
	}),
	text("SearchPhrase", (*hits).appendPhrase), few("AdvEngineID", int16s, 90, 0.96),
	few("IsArtifical", int16s, 2, 0.9), few("WindowClientWidth", int16s, 2000, 0),
	few("WindowClientHeight", int16s, 1200, 0), few("ClientTimeZone", int16s, 600, 0),
	moment("ClientEventTime", 36_000), few("SilverlightVersion1", int16s, 6, 0.5),
	few("SilverlightVersion2", int16s, 3, 0.5), few("SilverlightVersion3", int32s, 60_000, 0.5),
	few("SilverlightVersion4", int16s, 20, 0.5), words("PageCharset", 4, 0.1),
	few("CodeVersion", int32s, 1500, 0), few("IsLink", int16s, 2, 0.9),
	few("IsDownload", int16s, 2, 0.98), few("IsNotBounce", int16s, 2, 0.5),
	number("FUniqID", int64s, func(g *hits, row uint64) int64 { return int64(mix(uint64(g.user(row))) >> 1) }),
	words("OriginalURL", 1000, 0.9), few("HID", int32s, 1<<30, 0),
	few("IsOldCounter", int16s, 2, 0.99), few("IsEvent", int16s, 2, 0.99),
	few("IsParameter", int16s, 2, 0.99), few("DontCountHits", int16s, 2, 0.9),
	few("WithHash", int16s, 2, 0.99), words("HitColor", 5, 0), moment("LocalEventTime", 18_000),
	few("Age", int16s, 60, 0.3), few("Sex", int16s, 3, 0), few("Income", int16s, 5, 0),
	few("Interests", int16s, 20_000, 0.3), few("Robotness", int16s, 100, 0.9),
	few("RemoteIP", int32s, 1<<30, 0), few("WindowName", int32s, 5000, 0.5),
	few("OpenerName", int32s, 5000, 0.5), few("HistoryLength", int16s, 60, 0),
	words("BrowserLanguage", 20, 0), words("BrowserCountry", 60, 0),
	words("SocialNetwork", 10, 0.98), words("SocialAction", 10, 0.98),
	few("HTTPError", int16s, 500, 0.98), few("SendTiming", int32s, 30_000, 0.3),
	few("DNSTiming", int32s, 3000, 0.5), few("ConnectTiming", int32s, 5000, 0.5),
	few("ResponseStartTiming", int32s, 10_000, 0.3), few("ResponseEndTiming", int32s, 20_000, 0.3),
	few("FetchTiming", int32s, 20_000, 0.3), few("SocialSourceNetworkID", int16s, 20, 0.95),
	words("SocialSourcePage", 1000, 0.95), few("ParamPrice", int64s, 10_000, 0.99),
	words("ParamOrderID", 100, 0.99), words("ParamCurrency", 5, 0),
	few("ParamCurrencyID", int16s, 5, 0), words("OpenstatServiceName", 10, 0.97),
	words("OpenstatCampaignID", 1000, 0.97), words("OpenstatAdID", 1000, 0.97),
	words("OpenstatSourceID", 100, 0.97), words("UTMSource", 50, 0.95),
	words("UTMMedium", 20, 0.95), words("UTMCampaign", 500, 0.95), words("UTMContent", 500, 0.97),
	words("UTMTerm", 500, 0.97), words("FromTag", 100, 0.95), few("HasGCLID", int16s, 2, 0.97),
	hashOf("RefererHash", 3594120000172545465, func(g *hits, row uint64) uint64 { return g.draw(row, drawReferer) }),
	hashOf("URLHash", 2868770270353813622, (*hits).url), few("CLID", int32s, 5000, 0.9),
}

func (g *hits) open(split int, columns []int) filler {
	fillers := make([]columnFiller, len(columns))
	for i, c := range columns {
		fillers[i] = g.column(&hitsColumns[c], uint64(g.starts[split]))
	}
	return each(fillers)
}

// column fills a column from a row on.
func (g *hits) column(c *hitsColumn, row uint64) columnFiller {
	if c.text != nil {
		return func(mem memory.Allocator, rows int) arrow.Array {
			return newStrings(mem, rows, 16, func(dst []byte) []byte {
				dst = c.text(g, dst, row)
				row++
				return dst
			})
		}
	}
	return integers(c.typ, func() uint64 {
		row++
		return uint64(c.number(g, row-1))
	})
}
