package push

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/world"
)

// words are what ConfigMaps named one say, on every cluster of a world, with
// the time at which the API server told its watchers.
type words struct {
	end   context.CancelFunc
	group sync.WaitGroup

	mu  sync.Mutex
	all map[string]map[string]time.Time // by word and cluster
	bad error
}

// watchWords watches until stop.
func watchWords(ctx context.Context, w *world.World) (*words, error) {
	ctx, end := context.WithCancel(ctx)
	all := &words{end: end, all: map[string]map[string]time.Time{}}
	for _, name := range w.Clusters {
		config := w.Cluster(name).Config()
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			end()
			return nil, err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/api/v1/configmaps?watch=1&fieldSelector=metadata.name%3Done", nil)
		if err != nil {
			end()
			return nil, err
		}
		answer, err := client.Do(request)
		if err != nil {
			end()
			return nil, err
		}
		all.group.Go(func() {
			defer answer.Body.Close()
			if err := all.read(name, answer); ctx.Err() == nil {
				all.mu.Lock()
				defer all.mu.Unlock()
				all.bad = fmt.Errorf("the watch of %s: %w", name, err)
			}
		})
	}
	return all, nil
}

// read notes the events of one cluster, and returns why there are no more.
func (w *words) read(cluster string, answer *http.Response) error {
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it is answered with %s", answer.Status)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		at := time.Now()
		var event struct {
			Object struct {
				Data map[string]string `json:"data"`
			} `json:"object"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return err
		}
		word := event.Object.Data["word"]
		w.mu.Lock()
		if w.all[word] == nil {
			w.all[word] = map[string]time.Time{}
		}
		if _, known := w.all[word][cluster]; !known {
			w.all[word][cluster] = at
		}
		w.mu.Unlock()
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return fmt.Errorf("it ended")
}

// await waits until so many clusters say a word and returns when each did.
func (w *words) await(ctx context.Context, word string, clusters int, limit time.Duration) (map[string]time.Time, error) {
	var came map[string]time.Time
	err := eventually.Wait(ctx, limit, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		came = w.all[word]
		if w.bad != nil {
			return w.bad
		}
		if len(came) < clusters {
			return fmt.Errorf("%d of %d clusters say %q", len(came), clusters, word)
		}
		return nil
	})
	return came, err
}

func (w *words) stop() {
	w.end()
	w.group.Wait()
}
