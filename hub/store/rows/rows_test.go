package rows_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
)

type size string

type terms struct {
	Wave int `json:"wave,omitempty"`
}

// box has a field of each encoding.
type box struct {
	ID      string
	Size    size
	Count   int
	Open    bool
	Terms   terms
	Options terms
	Tags    []string
	Body    json.RawMessage
	Hash    []byte
	Image   []byte
	MadeAt  time.Time
	Age     time.Duration
	Pinned  bool
	Owner   string
}

func boxColumns(c *rows.Columns, b *box) {
	rows.Col(c, "id", &b.ID)
	rows.Col(c, "size", &b.Size)
	rows.Col(c, "count", &b.Count)
	rows.Col(c, "open", &b.Open)
	rows.JSON(c, "terms", &b.Terms)
	rows.Sparse(c, "options", &b.Options, "{}")
	rows.List(c, "tags", &b.Tags)
	rows.Text(c, "body", &b.Body)
	rows.Hex(c, "hash", &b.Hash)
	rows.Base64(c, "image", &b.Image)
	rows.Micros(c, "made_at", &b.MadeAt)
	rows.Duration(c, "age", &b.Age)
	rows.Flag(c, "pinned", &b.Pinned)
	rows.Col(c, "COALESCE(o.name, '')", &b.Owner)
}

var (
	boxes       = rows.Of("boxes b", boxColumns)
	selectBoxes = boxes.Select() + "LEFT JOIN owners o ON o.id = b.id "
)

const schema = `CREATE TABLE boxes (id TEXT PRIMARY KEY, size TEXT, count BIGINT, open BIGINT, terms TEXT, options TEXT, tags TEXT,
	body TEXT, hash TEXT, image TEXT, made_at BIGINT, age BIGINT, pinned BIGINT);
	CREATE TABLE owners (id TEXT PRIMARY KEY, name TEXT)`

// database runs statements as the hub's store does.
type database struct{ *sql.DB }

func newDatabase(t testing.TB) database {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	return database{db}
}

func (d database) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	for i, arg := range args {
		if arg, ok := arg.(query.Encoder); ok {
			encoded, err := arg.Encode()
			if err != nil {
				return 0, err
			}
			args[i] = encoded
		}
	}
	result, err := d.ExecContext(ctx, strings.ReplaceAll(statement, "{now}", "7"), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (d database) Each(ctx context.Context, statement string, args []any, take func(query.Scan) error) error {
	found, err := d.QueryContext(ctx, strings.ReplaceAll(statement, "{now}", "7"), args...)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		if err := take(found.Scan); err != nil {
			return err
		}
	}
	return found.Err()
}

func (d database) run(t *testing.T, statement string) {
	t.Helper()
	if _, err := d.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func full(id string) box {
	return box{
		ID: id, Size: "large", Count: 3, Open: true, Terms: terms{1}, Options: terms{2}, Tags: []string{id, "b"},
		Body: json.RawMessage(`{"a":1}`), Hash: []byte{1, 0xff}, Image: []byte("png"), MadeAt: time.UnixMicro(12).UTC(), Age: time.Second, Pinned: true,
	}
}

func TestStatementsAreMadeOfTheDefinition(t *testing.T) {
	small := rows.Of("boxes b", func(c *rows.Columns, b *box) {
		rows.Col(c, "id", &b.ID)
		rows.Col(c, "size", &b.Size)
		rows.Col(c, "COALESCE(o.name, '')", &b.Owner)
		rows.Col(c, "count", &b.Count)
	})
	all := small.All()
	for want, got := range map[string]string{
		"SELECT b.id, b.size, COALESCE(o.name, ''), b.count FROM boxes b ":                                            small.Select(),
		"INSERT INTO boxes (id, size, count) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING":                              all.Insert("ON CONFLICT DO NOTHING").Text(),
		"INSERT INTO boxes (id, size, count) VALUES ($1, $2, $3)":                                                     all.Insert("").Text(),
		"INSERT INTO boxes (id, count, size) VALUES ($1, $2, lower($3) || $1)":                                        all.Set("size", "lower({1}) || {id}").Insert("").Text(),
		"UPDATE boxes SET size = $2, count = $3 WHERE id = $1":                                                        all.Update("id").Text(),
		"UPDATE boxes SET count = count + 1, made_at = {now} WHERE id = $1":                                           small.Only("id").Set("count", "count + 1").Set("made_at", "{now}").Update("id").Text(),
		"UPDATE boxes SET count = $2 WHERE id = $1":                                                                   small.Except("size").Update("id").Text(),
		"SELECT $1, $2 WHERE $2 > 0":                                                                                  small.Only("id", "count").Statement("SELECT {values} WHERE {count} > 0").Text(),
		"INSERT INTO boxes (id, size, count) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET size = excluded.size": all.Keep("count").Upsert("id").Text(),
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestRowsComeBackAsTheyWere(t *testing.T) {
	db, ctx := newDatabase(t), t.Context()
	insert, put := boxes.All().Insert(""), boxes.All().Upsert("id")
	first, second := full("1"), box{ID: "2", MadeAt: time.Time{}}
	for _, b := range []box{first, second} {
		if n, err := insert.Exec(ctx, db, &b); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	db.run(t, "INSERT INTO owners (id, name) VALUES ('1', 'ann')")
	first.Owner, second.Hash, second.Image, second.Body = "ann", []byte{}, []byte{}, json.RawMessage{}
	want := func(all ...box) {
		t.Helper()
		got, err := query.All(ctx, db, boxes.Reader(), selectBoxes+"ORDER BY b.id")
		if diff := cmp.Diff(all, got); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	}
	want(first, second)
	second.Tags, second.Count = []string{"x", "y"}, 9
	if _, err := put.Exec(ctx, db, &second); err != nil {
		t.Fatal(err)
	}
	want(first, second)
	first.Size = "small"
	if n, err := boxes.Only("id", "size").Update("id").Exec(ctx, db, &first); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	want(first, second)
	// The most frequent value is stored as empty text.
	for column, text := range map[string]string{"options": "", "tags": `["x","y"]`, "terms": "{}"} {
		got, _, err := query.One(ctx, db, query.Value[string], "SELECT "+column+" FROM boxes WHERE id = '2'")
		if err != nil || got != text {
			t.Errorf("%s is %q, want %q: %v", column, got, text, err)
		}
	}
}

func TestManyRowsAreFewStatements(t *testing.T) {
	db, ctx := newDatabase(t), t.Context()
	put := boxes.All().Set("made_at", "{now}").UpsertMany("id")
	var all []box
	for i := range 501 {
		all = append(all, full(fmt.Sprintf("%03d", i)))
	}
	for range 2 {
		if n, err := put.Exec(ctx, db, all); n != 501 || err != nil {
			t.Fatal(n, err)
		}
	}
	got, err := query.All(ctx, db, boxes.Reader(), selectBoxes+"ORDER BY b.id")
	if err != nil || len(got) != 501 {
		t.Fatal(len(got), err)
	}
	for i := range all {
		all[i].MadeAt = time.UnixMicro(7).UTC()
	}
	// Each value has its own list, which the next row does not overwrite.
	if diff := cmp.Diff(all, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n, err := put.Exec(ctx, db, nil); n != 0 || err != nil {
		t.Fatal(n, err)
	}
}

func TestUnreadColumnIsWrittenOnly(t *testing.T) {
	db, ctx := newDatabase(t), t.Context()
	lean := rows.Of("boxes b", boxColumns).Unread("image", "size")
	first := full("1")
	if _, err := lean.All().Insert("").Exec(ctx, db, &first); err != nil {
		t.Fatal(err)
	}
	got, _, err := query.One(ctx, db, lean.Reader(), lean.Select()+"LEFT JOIN owners o ON o.id = b.id")
	if err != nil || got.Image != nil || got.Size != "" || got.Count != 3 || len(got.Hash) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	whole, _, err := query.One(ctx, db, boxes.Reader(), selectBoxes)
	if err != nil || string(whole.Image) != "png" || whole.Size != "large" {
		t.Fatalf("%+v, %v", whole, err)
	}
}

func TestWhatDoesNotFitNamesItsColumn(t *testing.T) {
	for change, want := range map[string]string{
		"count = 'many'":    "count",
		"count = NULL":      "count",
		"size = NULL":       "size",
		"terms = '{'":       "terms",
		"terms = 4":         "terms",
		"hash = 'xyz'":      "hash",
		"image = '%'":       "image",
		"made_at = 'today'": "made_at",
		"age = NULL":        "age",
		"pinned = 'yes'":    "pinned",
		"body = NULL":       "body",
	} {
		t.Run(change, func(t *testing.T) {
			db, first := newDatabase(t), full("1")
			if _, err := boxes.All().Insert("").Exec(t.Context(), db, &first); err != nil {
				t.Fatal(err)
			}
			db.run(t, "UPDATE boxes SET "+change)
			got, err := query.All(t.Context(), db, boxes.Reader(), selectBoxes)
			if err == nil || !strings.Contains(err.Error(), "boxes") || !strings.Contains(err.Error(), `"`+want+`"`) {
				t.Fatalf("%+v, %v", got, err)
			}
		})
	}
}

func TestNullOfJSONIsTheZeroValue(t *testing.T) {
	db, first := newDatabase(t), full("1")
	if _, err := boxes.All().Insert("").Exec(t.Context(), db, &first); err != nil {
		t.Fatal(err)
	}
	db.run(t, "UPDATE boxes SET terms = NULL, options = NULL, tags = NULL")
	got, _, err := query.One(t.Context(), db, boxes.Reader(), selectBoxes)
	if err != nil || got.Terms != (terms{}) || got.Options != (terms{}) || got.Tags != nil {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestQueryOfOtherColumnsIsAnError(t *testing.T) {
	db, first := newDatabase(t), full("1")
	if _, err := boxes.All().Insert("").Exec(t.Context(), db, &first); err != nil {
		t.Fatal(err)
	}
	got, err := query.All(t.Context(), db, boxes.Reader(), "SELECT id, size FROM boxes")
	if err == nil || !strings.Contains(err.Error(), "boxes") {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestNameThatATableLacksEndsTheStart(t *testing.T) {
	for name, define := range map[string]func(){
		"only":       func() { boxes.Only("id", "colour") },
		"except":     func() { boxes.Except("colour") },
		"expression": func() { boxes.Only("COALESCE(o.name, '')") },
		"unread":     func() { rows.Of("boxes", boxColumns).Unread("colour") },
		"key":        func() { boxes.All().Update("colour") },
		"unpicked":   func() { boxes.Only("size").Update("id") },
		"conflict":   func() { boxes.Only("size").Upsert("id") },
		"argument":   func() { boxes.Only("size").Statement("SELECT {id}") },
		"twice": func() {
			rows.Of("boxes", func(c *rows.Columns, b *box) {
				rows.Col(c, "id", &b.ID)
				rows.Col(c, "id", &b.Size)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, "table boxes") {
					t.Errorf("it said %s", text)
				}
			}()
			define()
		})
	}
}

// A page of 20 rows allocates no more than a handwritten scan of each variable.
func TestReadingAllocatesNoMoreThanByHand(t *testing.T) {
	fill := func(into ...any) error {
		for _, to := range into {
			switch to := to.(type) {
			case *string:
				*to = "x"
			case *size:
				*to = "large"
			case *int:
				*to = 3
			case *bool:
				*to = true
			case sql.Scanner:
				if err := to.Scan(`["a"]`); err != nil {
					return err
				}
			}
		}
		return nil
	}
	type slim struct {
		ID    string
		Size  size
		Count int
		Open  bool
		Tags  []string
	}
	table := rows.Of("boxes", func(c *rows.Columns, b *slim) {
		rows.Col(c, "id", &b.ID)
		rows.Col(c, "size", &b.Size)
		rows.Col(c, "count", &b.Count)
		rows.Col(c, "open", &b.Open)
		rows.List(c, "tags", &b.Tags)
	})
	page := func(take func(query.Scan) (slim, error)) {
		for range 20 {
			if _, err := take(fill); err != nil {
				t.Fatal(err)
			}
		}
	}
	byName := testing.AllocsPerRun(100, func() { page(table.Reader()) })
	byHand := testing.AllocsPerRun(100, func() {
		page(func(row query.Scan) (b slim, err error) {
			var tags string
			if err := row(&b.ID, &b.Size, &b.Count, &b.Open, &tags); err != nil {
				return b, err
			}
			return b, query.FromJSON(`["a"]`, &b.Tags)
		})
	})
	if byName > byHand {
		t.Errorf("a page of 20 allocates %.0f times, by hand %.0f", byName, byHand)
	}
}

type manager struct{ Tool, ID string }

type lid struct {
	Colour string
	Count  int
}

// crate has fields whose columns have their names.
type crate struct {
	lid
	ID        string
	ClusterID string
	TOTPStep  int64
	ManagedBy manager
	MadeAt    time.Time
	Tags      []string
	Cached    bool
	weight    int64
}

func crateColumns(c *rows.Columns, v *crate) {
	rows.List(c, "tags", &v.Tags)
	rows.Col(c, "amount", &v.Count)
	rows.Col(c, "kilos", &v.weight)
	rows.FieldsBut(c, v, &v.Cached)
}

func TestFieldsHaveColumnsOfTheirNames(t *testing.T) {
	table := rows.Of("crates", crateColumns)
	if got, want := table.Names(), "tags, amount, kilos, colour, id, cluster_id, totp_step, managed_by_tool, managed_by_id, made_at"; got != want {
		t.Errorf("the columns are %s; want %s", got, want)
	}
	stored := crate{
		lid: lid{"red", 3}, ID: "c1", ClusterID: "k1", TOTPStep: 7, ManagedBy: manager{"terraform", "t1"},
		MadeAt: time.UnixMicro(5).UTC(), Tags: []string{"a"}, Cached: true, weight: 9,
	}
	db := newDatabase(t)
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE crates (tags TEXT, amount BIGINT, kilos BIGINT, colour TEXT, id TEXT, cluster_id TEXT,
		totp_step BIGINT, managed_by_tool TEXT, managed_by_id TEXT, made_at BIGINT)`); err != nil {
		t.Fatal(err)
	}
	if _, err := table.All().Insert("").Exec(t.Context(), db, &stored); err != nil {
		t.Fatal(err)
	}
	read, err := query.All(t.Context(), db, table.Reader(), table.Select())
	if err != nil {
		t.Fatal(err)
	}
	stored.Cached = false
	if len(read) != 1 || !cmp.Equal(read[0], stored, cmp.AllowUnexported(crate{}, lid{})) {
		t.Errorf("%+v was stored and %+v read", stored, read)
	}
	if _, err := table.Only("id", "made_at").Update("id").Exec(t.Context(), db, &crate{ID: "c1", MadeAt: time.UnixMicro(8)}); err != nil {
		t.Fatal(err)
	}
	read, err = query.All(t.Context(), db, table.Reader(), table.Select())
	if stored.MadeAt = time.UnixMicro(8).UTC(); err != nil || !cmp.Equal(read[0], stored, cmp.AllowUnexported(crate{}, lid{})) {
		t.Errorf("after an update of one column %+v was read: %v", read, err)
	}
}

func TestFieldsWithoutAnEncodingStopTheStart(t *testing.T) {
	for name, define := range map[string]func(){
		"bytes":      func() { rows.Of("t", rows.Fields[struct{ Body []byte }]) },
		"list":       func() { rows.Of("t", rows.Fields[struct{ Tags []string }]) },
		"duration":   func() { rows.Of("t", rows.Fields[struct{ Age time.Duration }]) },
		"unexported": func() { rows.Of("t", rows.Fields[struct{ id string }]) },
		"twice": func() {
			rows.Of("t", func(c *rows.Columns, v *struct{ A, ID string }) {
				rows.Col(c, "id", &v.A)
				rows.Fields(c, v)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the program starts")
				}
			}()
			define()
		})
	}
}
