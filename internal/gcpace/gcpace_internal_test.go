package gcpace

import (
	"context"
	"runtime"
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
	if got := held(); got < 64<<20 || got > 1<<30 {
		t.Errorf("64 MiB are held and %d MiB seen", got>>20)
	}
	runtime.KeepAlive(large)
}

func TestPacingEnds(t *testing.T) {
	t.Setenv("GOGC", "")
	ctx, stop := context.WithCancel(t.Context())
	wait := Start(ctx)
	stop()
	wait()
}
