package command

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// silence ends a stream whose heartbeats, each 15 s, do not come.
const silence = 50 * time.Second

// follower follows the lists of some topics through the hub's stream.
type follower[T any] struct {
	stream   *connect.ServerStreamForClient[hubv1.WatchFleetResponse]
	rows     func(*hubv1.WatchFleetResponse) []T
	hubURL   string
	watchdog *time.Timer
	cancel   context.CancelCauseFunc
	ctx      context.Context
}

var errSilent = errcode.New(errcode.Unavailable, "the hub sent nothing for %s", silence)

// Opens returns what follows a list through the hub's stream: its topics, and which rows
// of a message are the list's. A hint of the topics asks for another reading. A hub that knows no streams gives a nil Follower.
func Opens[T any](client *sdk.Client, topics *hubv1.Topics, rows func(*hubv1.WatchFleetResponse) []T) func(context.Context) (output.Follower[T], error) {
	return func(ctx context.Context) (output.Follower[T], error) {
		ctx, cancel := context.WithCancelCause(ctx)
		f := &follower[T]{rows: rows, hubURL: client.URL, cancel: cancel, ctx: ctx}
		f.watchdog = time.AfterFunc(silence, func() { cancel(errSilent) })
		var err error
		if f.stream, err = client.Fleet.Watch(ctx, connect.NewRequest(&hubv1.WatchFleetRequest{Topics: topics})); err != nil {
			f.watchdog.Stop()
			cancel(nil)
			return nil, sdk.Error(err, client.URL)
		}
		// The first message says that the hub notes changes from now on: what it sends
		// later is newer than what is read now.
		if _, err := f.receive(); err != nil {
			f.Close()
			var rpc *connect.Error
			if errors.As(err, &rpc) && rpc.Code() == connect.CodeUnimplemented {
				return nil, nil
			}
			return nil, sdk.Error(err, client.URL)
		}
		return f, nil
	}
}

func (f *follower[T]) receive() (*hubv1.WatchFleetResponse, error) {
	f.watchdog.Reset(silence)
	if f.stream.Receive() {
		return f.stream.Msg(), nil
	}
	if context.Cause(f.ctx) == errSilent {
		return nil, errSilent
	}
	if err := f.stream.Err(); err != nil {
		return nil, err
	}
	return nil, errcode.New(errcode.Unavailable, "the hub ended the stream")
}

// Next implements output.Follower.
func (f *follower[T]) Next() (output.Changed[T], error) {
	for {
		m, err := f.receive()
		if err != nil {
			return output.Changed[T]{}, sdk.Error(err, f.hubURL)
		}
		c := output.Changed[T]{Items: f.rows(m), Gone: m.GetGone(), Again: m.GetListAgain() || len(m.GetHints()) > 0}
		if c.Again || len(c.Items)+len(c.Gone) > 0 {
			return c, nil
		}
	}
}

// Close implements output.Follower.
func (f *follower[T]) Close() {
	f.watchdog.Stop()
	f.cancel(nil)
	_ = f.stream.Close() // it ended with the context
}
