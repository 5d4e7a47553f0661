package operationsapi

import (
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/operations"
)

func TestOwnFailedOperationsWaitForADayOrARetry(t *testing.T) {
	one := func(id string, state operations.State, ended int64, selection string) operations.Operation {
		return operations.Operation{ID: id, Action: "sync", State: state, Total: 5, Failed: 2, EndedAt: ended, Selection: selection}
	}
	hour := int64(time.Hour / time.Microsecond)
	day, now := 24*hour, 2400*hour
	got := ""
	for _, i := range failedOperations([]operations.Operation{
		one("op-6", operations.Running, 0, "the failed services of op-2"),
		one("op-5", operations.Done, now-hour, "cluster edge"),
		one("op-4", operations.Failed, now-hour, "cluster edge"),
		one("op-3", operations.Cancelled, now-hour, "cluster edge"),
		one("op-2", operations.Failed, now-2*hour, "cluster edge"),
		one("op-1", operations.Failed, now-day, "cluster edge"),
	}, now) {
		got += i.GetKind() + ": " + i.GetTitle() + " " + i.GetCommand()
	}
	if want := "operation_failed: Your operation sync failed for 2 of 5 services. axle operations get op-4"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
