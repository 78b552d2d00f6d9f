"use strict";
(() => {
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  let serial = 0;

  // Shows one frame of a strip at a time, chosen by a slider.
  const addSlider = (card) => {
    const figures = [...card.querySelectorAll(".strip")];
    const id = `slider-${++serial}`;
    const slider = make("input", { type: "range", id, min: 0, step: 1, className: "slider" });
    const label = make("label", { htmlFor: id, className: "hidden", textContent: `Transform along ${card.dataset.name}` });
    const readout = make("p", { className: "readout" });
    const control = make("div", { className: "control" }, label, slider);
    card.append(control, readout);
    let current = figures[0];
    const steps = (figure) => [...figure.querySelectorAll("li")];

    const show = () => {
      const index = Number(slider.value), all = steps(current);
      for (const image of current.querySelectorAll("img")) image.style.transform = `translateX(${(-100 * index) / all.length}%)`;
      readout.replaceChildren(...[...all[index].cloneNode(true).childNodes]);
      slider.setAttribute("aria-valuetext", all[index].textContent);
    };
    const choose = (example) => {
      const chosen = figures.find((figure) => figure.dataset.example === example) || figures[0];
      for (const figure of figures) figure.hidden = figure !== chosen;
      current = chosen;
      const count = steps(chosen).length, image = chosen.querySelector("img");
      chosen.style.setProperty("--frames", count);
      control.style.setProperty("--frames", count);
      chosen.querySelector(".window").style.aspectRatio = `${image.getAttribute("width") / count} / ${image.getAttribute("height")}`;
      slider.max = count - 1;
      show();
    };
    slider.addEventListener("input", show);
    choose(figures[0].dataset.example);
    slider.value = figures[0].dataset.start;
    show();
    return choose;
  };

  // Chooses the mask that is shown over the images of all strips.
  const layers = (gallery) => {
    const group = `layer-${++serial}`;
    const chooser = make("fieldset", { className: "layers" }, make("legend", { textContent: "Show" }));
    const choices = [["predicted", "predicted mask"], ["true", "true mask"], ["none", "image only"]];
    for (const [layer, words] of choices.filter(([layer]) => layer === "none" || gallery.querySelector(`.mask.${layer}`))) {
      const radio = make("input", { type: "radio", name: group, checked: layer === "predicted" });
      radio.addEventListener("change", () => { gallery.dataset.layer = layer; });
      chooser.append(make("label", {}, radio, words));
    }
    gallery.dataset.layer = "predicted";
    gallery.before(chooser);
  };

  const thumbnail = (figure) => {
    const image = figure.querySelector("img"), count = figure.querySelectorAll("li").length;
    const width = image.getAttribute("width") / count, height = Number(image.getAttribute("height"));
    const canvas = make("canvas", { width, height });
    canvas.setAttribute("aria-hidden", "true");
    const draw = () => canvas.getContext("2d").drawImage(image, width * figure.dataset.start, 0, width, height, 0, 0, width, height);
    if (image.complete) draw(); else image.addEventListener("load", draw);
    return canvas;
  };

  for (const gallery of document.querySelectorAll(".gallery")) {
    gallery.classList.add("live");
    const cards = [...gallery.querySelectorAll(".card")];
    const choosers = cards.map(addSlider);
    if (gallery.querySelector(".mask")) layers(gallery);
    const figures = [...cards[0].querySelectorAll(".strip")];
    if (figures.length < 2) continue;
    const group = `example-${++serial}`;
    const picker = make("fieldset", { className: "picker" }, make("legend", { textContent: "Example" }));
    figures.forEach((figure, i) => {
      const radio = make("input", { type: "radio", name: group, checked: i === 0, className: "hidden" });
      radio.addEventListener("change", () => choosers.forEach((choose) => choose(figure.dataset.example)));
      const name = make("bdi", { textContent: figure.dataset.truth || `Example ${i + 1}` });
      picker.append(make("label", { title: name.textContent }, radio, thumbnail(figure), name));
    });
    gallery.before(picker);
  }

  for (const command of document.querySelectorAll(".command")) {
    const button = make("button", { type: "button", textContent: "Copy", className: "copy" });
    button.addEventListener("click", async () => {
      const code = command.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    command.append(button);
  }
})();
