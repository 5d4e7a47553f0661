package event_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axle-cd/axle/hub/event"
)

// counting counts the questions of a feed.
type counting struct {
	rows
	lives, reads atomic.Int32
}

func (c *counting) Incarnation(ctx context.Context) (event.Incarnation, error) {
	c.lives.Add(1)
	return c.rows.Incarnation(ctx)
}

func (c *counting) ChangesAfter(ctx context.Context, after int64, limit int) ([]event.Row, error) {
	c.reads.Add(1)
	return c.rows.ChangesAfter(ctx, after, limit)
}

// A replica without news sends the database one query a second, and every 5 s
// checks the incarnation; by then it notices a new one.
func TestAnIdleFeedAsksLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, i := &counting{rows: rows{life: "a"}}, &index{}
		feed := start(t, store, i)
		<-time.After(10 * time.Second)
		synctest.Wait()
		store.lives.Store(0)
		store.reads.Store(0)
		<-time.After(time.Minute)
		synctest.Wait()
		if lives, reads := store.lives.Load(), store.reads.Load(); lives < 11 || lives > 13 || reads < 58 || reads > 62 {
			t.Errorf("in a minute %d questions for the life, %d for changes", lives, reads)
		}
		if feed.Age() > 2*time.Second {
			t.Errorf("the view is %v old", feed.Age())
		}
		store.mu.Lock()
		store.life = "b"
		store.mu.Unlock()
		<-time.After(6 * time.Second)
		synctest.Wait()
		if got := feed.Incarnation().ID; got != "b" {
			t.Errorf("the feed is still in life %s", got)
		}
	})
}

// While it receives announcements of commits, it polls three times less often.
func TestAFeedThatHearsOfCommitsAsksLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counting{rows: rows{life: "a"}}
		var heard atomic.Bool
		heard.Store(true)
		startWith(t, event.FeedConfig{Store: store, Announced: heard.Load}, &index{})
		<-time.After(10 * time.Second)
		synctest.Wait()
		for _, tc := range []struct{ least, most int32 }{{19, 22}, {57, 62}} {
			store.reads.Store(0)
			<-time.After(time.Minute)
			synctest.Wait()
			if reads := store.reads.Load(); reads < tc.least || reads > tc.most {
				t.Errorf("heard %v: in a minute %d questions for changes", heard.Load(), reads)
			}
			heard.Store(false)
		}
	})
}
