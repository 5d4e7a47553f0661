package revisions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/clock"
)

// contentID hashes all fields of a content, so that equal content gets the same
// id.
func contentID(m fleet.Made) (string, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("name content: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// Content is a row of what a source gave.
type Content struct {
	ID string
	fleet.Made
	CreatedAt int64
}

// Contents are the rows of contents.
var (
	Contents = rows.Of("contents", func(c *rows.Columns, v *Content) {
		rows.List(c, "parts", &v.Parts)
		rows.Fields(c, &v.Made.Content)
		rows.Fields(c, v)
	})
	insertContents = Contents.All().InsertMany("ON CONFLICT DO NOTHING")
)

// putContents stores contents, without duplicates, and returns their ids in
// order.
func (t *Table) putContents(ctx context.Context, made []fleet.Made) ([]string, error) {
	ids := make([]string, len(made))
	seen := map[string]bool{}
	var contents []Content
	var parts query.Values
	for i, m := range made {
		id, err := contentID(m)
		if err != nil {
			return nil, err
		}
		if ids[i] = id; seen[id] {
			continue
		}
		seen[id] = true
		contents = append(contents, Content{id, m, clock.Micros(t.clock.Now())})
		for _, p := range m.Parts[min(1, len(m.Parts)):] {
			parts.Add(id, p.Digest, p.RepositoryID)
		}
	}
	if _, err := insertContents.Exec(ctx, t.db, contents); err != nil {
		return nil, err
	}
	return ids, parts.Each(func(list string, args []any) error {
		_, err := t.db.Exec(ctx, "INSERT INTO content_parts (content_id, digest, repository_id) VALUES "+list+" ON CONFLICT DO NOTHING", args...)
		return err
	})
}

const (
	// contentKept is how long content without a revision is kept.
	contentKept = 24 * time.Hour
	// contentPage is how many contents one check covers.
	contentPage = 500
)

// DropContents deletes those of the next contents after an id that no revision
// has referred to for a day, in the transaction of ctx, and returns the last id
// that it checked, empty at the end. Each check costs the same, however many
// there are.
func (t *Table) DropContents(ctx context.Context, after string) (last string, err error) {
	ids, err := query.All(ctx, t.db, query.Value[string], "SELECT id FROM contents WHERE id > $1 ORDER BY id LIMIT $2", after, contentPage)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	old := clock.Micros(t.clock.Now().Add(-contentKept))
	_, err = t.db.Exec(ctx, `DELETE FROM contents WHERE id > $1 AND id <= $2 AND created_at < $3
		AND NOT EXISTS (SELECT 1 FROM revisions r WHERE r.content_id = contents.id)`, after, ids[len(ids)-1], old)
	if len(ids) == contentPage {
		last = ids[len(ids)-1]
	}
	return last, err
}
