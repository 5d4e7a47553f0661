package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/scale"
)

func benchProxyCommand() *cobra.Command {
	var config scale.ProxyConfig
	c := &cobra.Command{
		Use:   "bench-proxy",
		Short: "Measure a cluster's API through hub and agent beside the API server itself",
		Long: `Start a hub, an agent and a real API server as processes, and use the API server
directly and through the hub in the same run: GETs, bodies of 10 and 100 MiB both
ways, commands, idle watches, and a client beside 50 that read nothing. Prints a
table and, as its last line, one JSON object.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			began := time.Now()
			config.Progress = func(format string, args ...any) {
				fmt.Printf("[%6.1fs] %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
			}
			found, err := scale.Proxy(c.Context(), config)
			if err != nil {
				return err
			}
			found.Print(os.Stdout)
			line, err := json.Marshal(found)
			if err != nil {
				return err
			}
			fmt.Println(string(line))
			return nil
		},
	}
	c.Flags().IntVar(&config.Requests, "requests", 500, "requests of each kind that are timed")
	c.Flags().IntVar(&config.Watches, "watches", 400, "watches open at once")
	return c
}
