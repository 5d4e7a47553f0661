package gctuning

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestGarbageIsBoundedHoweverMuchIsHeld(t *testing.T) {
	for name, test := range map[string]struct {
		held uint64
		want int
	}{
		"nothing yet": {0, mostCollectAt},
		"new":         {10 << 20, mostCollectAt},
		"a few":       {20 << 20, 80},
		"a small hub": {60 << 20, collectAt},
		"at the edge": {192 << 20, collectAt},
		"400 MiB":     {400 << 20, 20},
		"very large":  {8 << 30, leastCollectAt},
		"beyond any":  {1 << 50, leastCollectAt},
	} {
		t.Run(name, func(t *testing.T) {
			got := pace(test.held)
			if got != test.want {
				t.Errorf("%d %%, want %d", got, test.want)
			}
			if room := test.held * uint64(got) / 100; got > leastCollectAt && room > garbage {
				t.Errorf("%d MiB of garbage", room>>20)
			}
		})
	}
}

func TestWhatIsHeldIsSeen(t *testing.T) {
	large := make([]byte, 64<<20)
	runtime.GC()
	if got := look().held; got < 64<<20 || got > 1<<30 {
		t.Errorf("64 MiB are held and %d MiB seen", got>>20)
	}
	runtime.KeepAlive(large)
}

// What a busy time left is given back once, when it is over, and never while
// the program works or when there is little to give.
func TestABusyTimeGivesBackOnce(t *testing.T) {
	const mib = 1 << 20
	for name, test := range map[string]struct {
		live, kept uint64
		allocated  uint64 // between two looks
		want       int    // times in a hundred looks
	}{
		"an agent after its install": {live: 20 * mib, kept: 30 * mib, allocated: mib / 10, want: 1},
		"little to give":             {live: 20 * mib, kept: 21 * mib, allocated: mib / 10, want: 0},
		"little of much":             {live: 320 * mib, kept: 330 * mib, want: 0},
		"busy":                       {live: 20 * mib, kept: 60 * mib, allocated: 2 * mib, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			var r rest
			now := usage{live: test.live, kept: test.kept, allocated: 100 * mib}
			for busy := range 2 {
				got := 0
				for range 100 {
					if r.ends(now) {
						got++
					}
					now.allocated += test.allocated
				}
				if got != test.want {
					t.Errorf("after %d busy times more: %d times, want %d", busy, got, test.want)
				}
				now.allocated += 50 * mib
			}
		})
	}
}

func TestWhatIsKeptIsSeen(t *testing.T) {
	large := make([]byte, 64<<20)
	before := look()
	runtime.KeepAlive(large)
	large = nil
	debug.FreeOSMemory()
	if after := look(); after.kept+60<<20 > before.kept {
		t.Errorf("%+v, then %+v", before, after)
	}
}

func TestPacingEnds(t *testing.T) {
	t.Setenv("GOGC", "")
	ctx, stop := context.WithCancel(t.Context())
	wait := Start(ctx)
	stop()
	wait()
}
