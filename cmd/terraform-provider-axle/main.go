// Command terraform-provider-axle is the Terraform and OpenTofu provider of the hub.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/axle-cd/axle/terraform"
)

// address is what Terraform calls the provider when it attaches to a debugged one.
const address = "registry.terraform.io/" + terraform.Namespace + "/" + terraform.Type

func main() {
	debug := flag.Bool("debug", false, "run until interrupted, for a debugger; prints what to set for Terraform")
	flag.Parse()
	err := providerserver.Serve(context.Background(), func() provider.Provider { return terraform.New(nil) }, providerserver.ServeOpts{Address: address, Debug: *debug})
	if err != nil {
		log.Fatal(err)
	}
}
