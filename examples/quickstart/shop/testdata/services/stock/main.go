// Command stock counts what is left.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("GET /stock", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "lamps: 12")
	})
	log.Fatal(http.ListenAndServe(":"+os.Getenv("PORT"), nil))
}
