// Command module prints a ConfigMap. Built by
//
//	GOOS=wasip1 GOARCH=wasm go build -o web.wasm .
//
// it is a module for a renderer of type WASM.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	var told struct {
		Name          string            `json:"name"`
		Configuration map[string]string `json:"configuration"`
		Parameters    map[string]string `json:"parameters"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&told); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": told.Name},
		"data": map[string]any{"color": told.Configuration["color"], "size": told.Parameters["size"]},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%s\n", text)
}
